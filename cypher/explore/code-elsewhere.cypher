// Techniques that have no code themselves, but whose concept has code from another paper. Shows this code, best proven first, so that you
// can borrow it.
//
// Group: concepts
// Parameters:
//   paper: paper = "" -- only this paper, by id; empty: all papers
// Example: xkg cypher code-elsewhere --param paper=arxiv:1608.04471

MATCH (t:Technique)-[:SAME_CONCEPT]-(u:Technique)-[:IMPLEMENTED_BY]->(c:Code)
WHERE NOT EXISTS {MATCH (t)-[:IMPLEMENTED_BY]->(own:Code)}
WITH t, c, split(t.id, '#')[0] AS paper_id, split(u.id, '#')[0] AS other_id
WHERE $paper = '' OR paper_id = $paper
MATCH (p:Paper {id: paper_id})
WITH t, c, p, other_id
MATCH (other:Paper {id: other_id})
RETURN t.name AS technique, t.id AS technique_id, p.title AS paper, other.title AS other_paper, c.level AS level,
  c.id AS code_id
ORDER BY technique_id,
  CASE level WHEN 'faithful' THEN 0 WHEN 'tested' THEN 1 WHEN 'executed' THEN 2 WHEN 'imported' THEN 3
    WHEN 'parsed' THEN 4 ELSE 5 END, code_id
