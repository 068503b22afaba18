// Techniques whose name, alias or definition contains the given text, with the level of their code. Matches in the name
// come first.
//
// Group: techniques
// Parameters:
//   text: string -- part of the name, of an alias, or of the definition (case-insensitive)
//   limit: integer = 50 -- maximum number of rows
// Example: xkg cypher find-technique --param text=kernel

WITH toLower($text) AS wanted
MATCH (t:Technique)
WHERE toLower(t.name) CONTAINS wanted OR toLower(t.definition) CONTAINS wanted
  OR any(alias IN t.aliases WHERE toLower(alias) CONTAINS wanted)
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
WITH wanted, t, c, split(t.id, '#')[0] AS paper_id
MATCH (p:Paper {id: paper_id})
RETURN t.name AS technique, t.id AS technique_id, p.title AS paper, coalesce(c.level, 'none') AS level,
  CASE WHEN toLower(t.name) CONTAINS wanted THEN 'name'
    WHEN any(alias IN t.aliases WHERE toLower(alias) CONTAINS wanted) THEN 'alias'
    ELSE 'definition' END AS found_in
ORDER BY CASE found_in WHEN 'name' THEN 0 WHEN 'alias' THEN 1 ELSE 2 END, technique_id
LIMIT $limit
