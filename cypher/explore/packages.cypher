// Packages, ranked by how much code needs them. Also shows how many papers use the package, and how much of their code
// runs.
//
// Group: code
// Parameters:
//   limit: integer = 50 -- maximum number of rows
// Example: xkg cypher packages --param limit=10

MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code)
UNWIND c.packages AS package
RETURN package, count(DISTINCT c.id) AS code_nodes, count(DISTINCT split(t.id, '#')[0]) AS papers,
  count(DISTINCT CASE WHEN c.level IN ['executed', 'tested', 'faithful'] THEN c.id ELSE NULL END) AS running
ORDER BY code_nodes DESC, papers DESC, package
LIMIT $limit
