// Code generated from a file or symbol in a repository. Rebuild this code when the file changes.
//
// Group: code
// Parameters:
//   path: string -- end of the path, such as kernels.py or svgd/kernels.py
//   symbol: string = "" -- only this class, function or method; empty: all
// Example: xkg cypher code-from-file --param path=kernels.py

MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code)-[:DERIVED_FROM]->(s:Symbol)<-[:DEFINES]-(r:Repository)
WHERE s.path ENDS WITH $path AND ($symbol = '' OR s.qualified_name = $symbol)
RETURN s.path AS path, s.start_line AS start_line, s.end_line AS end_line, s.qualified_name AS symbol, t.name AS technique,
  c.id AS code_id, c.level AS level, r.id AS repository_id
ORDER BY repository_id, path, start_line, symbol, code_id
