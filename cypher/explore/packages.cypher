// Packages by how much code needs them, in how many papers, and how much of that code runs.
//
// Group: code
// Parameters:
//   limit: integer = 50 -- at most so many rows
// Example: xkg cypher packages --param limit=10

MATCH (p:Paper)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)-[:IMPLEMENTED_BY]->(c:Code)
UNWIND c.packages AS package
RETURN package, count(DISTINCT c.id) AS code_nodes, count(DISTINCT p.id) AS papers,
  count(DISTINCT CASE WHEN c.level IN ['executed', 'tested', 'faithful'] THEN c.id ELSE NULL END) AS running
ORDER BY code_nodes DESC, papers DESC, package
LIMIT $limit
