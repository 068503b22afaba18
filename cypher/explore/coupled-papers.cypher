// Papers that cite the same works as a paper (bibliographic coupling). Papers with the most works in common come first.
//
// Group: citations
// Parameters:
//   paper: paper -- id of the paper, such as arxiv:1608.04471
//   works: integer = 1 -- minimum number of works in common
//   limit: integer = 20 -- maximum number of rows
// Example: xkg cypher coupled-papers --param paper=arxiv:1608.04471

MATCH (p:Paper {id: $paper})-[:CITES]->(work:Paper|CitedWork)<-[:CITES]-(other:Paper)
WHERE other.id <> $paper
WITH other.id AS paper_id, other.title AS paper, count(DISTINCT work.id) AS works
WHERE works >= $works
RETURN paper_id, paper, works
ORDER BY works DESC, paper_id
LIMIT $limit
