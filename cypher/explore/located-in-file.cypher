// The techniques located in a file, with their lines, from top to bottom.
//
// Group: repositories
// Parameters:
//   path: string -- end of the path, such as kernels.py or svgd/kernels.py
// Example: xkg cypher located-in-file --param path=kernels.py

MATCH (t:Technique)-[at:LOCATED_AT]->(s:Symbol)<-[:DEFINES]-(r:Repository)
WHERE s.path ENDS WITH $path
RETURN s.path AS path, s.start_line AS start_line, s.end_line AS end_line, s.qualified_name AS symbol, s.kind AS kind,
  t.name AS technique, t.id AS technique_id, at.rank AS rank, round(at.score, 3) AS score, at.focus AS focus, r.id AS repository_id
ORDER BY repository_id, path, start_line, end_line DESC, symbol, rank, technique_id
