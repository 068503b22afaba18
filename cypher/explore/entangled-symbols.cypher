// Classes, functions and methods that implement several techniques, so that editing one technique affects the others.
//
// Group: repositories
// Parameters:
//   techniques: integer = 2 -- minimum number of techniques
//   limit: integer = 50 -- maximum number of rows
// Example: xkg cypher entangled-symbols --param techniques=3

MATCH (t:Technique)-[:LOCATED_AT]->(s:Symbol)<-[:DEFINES]-(r:Repository)
WITH r.id AS repository_id, s.path AS path, s.qualified_name AS symbol, s.start_line AS start_line,
  s.end_line AS end_line, s.id AS symbol_id, count(DISTINCT t.id) AS techniques
WHERE techniques >= $techniques
RETURN path, symbol, start_line, end_line, techniques, repository_id
ORDER BY techniques DESC, symbol_id
LIMIT $limit
