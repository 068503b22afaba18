// Code nodes at exactly this level, with their techniques and required packages.
//
// Group: code
// Parameters:
//   level: string -- none, parsed, imported, executed, tested or faithful
//   paper: paper = "" -- only this paper, by id; empty: all papers
// Example: xkg cypher code-at-level --param level=executed

MATCH (t:Technique)-[:IMPLEMENTED_BY]->(c:Code)
WHERE c.level = $level
WITH t, c, split(t.id, '#')[0] AS paper_id
WHERE $paper = '' OR paper_id = $paper
MATCH (p:Paper {id: paper_id})
RETURN t.name AS technique, c.id AS code_id, p.title AS paper, c.language AS language, c.packages AS packages
ORDER BY code_id
