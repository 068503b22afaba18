// Pairs of papers that cite the same works (bibliographic coupling), those with most in common first.
//
// Group: citations
// Parameters:
//   works: integer = 2 -- at least so many works in common
//   limit: integer = 50 -- at most so many rows
// Example: xkg cypher coupled-papers --param works=5

MATCH (a:Paper)-[:CITES]->(work:Paper)<-[:CITES]-(b:Paper)
WHERE a.id < b.id
WITH a.id AS paper_id, a.title AS paper, b.id AS other_id, b.title AS other, count(DISTINCT work.id) AS works
WHERE works >= $works
RETURN paper_id, paper, other_id, other, works
ORDER BY works DESC, paper_id, other_id
LIMIT $limit
