// Cited papers that are not built yet, those that most papers of the graph cite first: what to build next.
//
// Group: citations
// Parameters:
//   limit: integer = 20 -- at most so many rows
// Example: xkg cypher most-cited-stubs --param limit=5

MATCH (stub:Paper)<-[:CITES]-(p:Paper) WHERE stub.state = 'stub'
RETURN stub.id AS paper_id, stub.title AS paper, stub.year AS year, stub.arxiv_id AS arxiv_id, count(p) AS cited_by
ORDER BY cited_by DESC, paper_id
LIMIT $limit
