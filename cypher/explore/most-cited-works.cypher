// Cited works that have not been built yet, most cited first. Use it to decide what to build next.
//
// Group: citations
// Parameters:
//   limit: integer = 20 -- maximum number of rows
// Example: xkg cypher most-cited-works --param limit=5

MATCH (work:CitedWork)<-[:CITES]-(p:Paper)
RETURN work.id AS paper_id, work.title AS paper, work.year AS year, work.arxiv_id AS arxiv_id, count(p) AS cited_by
ORDER BY cited_by DESC, paper_id
LIMIT $limit
