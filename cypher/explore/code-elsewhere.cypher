// Techniques without code for which another paper has code of the same concept: where to borrow it from, the best
// proven first.
//
// Group: concepts
// Parameters:
//   paper: string = "" -- only of this paper, by id; empty takes all
// Example: xkg cypher code-elsewhere --param paper=arxiv:1608.04471

MATCH (p:Paper)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
WHERE ($paper = '' OR p.id = $paper) AND NOT EXISTS {MATCH (t)-[:IMPLEMENTED_BY]->(own:Code)}
MATCH (t)-[:SAME_CONCEPT]-(u:Technique)-[:IMPLEMENTED_BY]->(c:Code)
MATCH (u)<-[:PROPOSES|HAS_COMPONENT*1..20]-(other:Paper)
RETURN t.name AS technique, t.id AS technique_id, p.title AS paper, other.title AS other_paper, c.level AS level,
  c.id AS code_id
ORDER BY technique_id,
  CASE level WHEN 'faithful' THEN 0 WHEN 'tested' THEN 1 WHEN 'executed' THEN 2 WHEN 'imported' THEN 3
    WHEN 'parsed' THEN 4 ELSE 5 END, code_id
