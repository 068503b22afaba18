// Methods in which every part has code that runs (`executed`, `tested` or `faithful`). These methods can be reproduced
// from the graph alone. The column `tested` is the number of parts whose test can fail.
//
// Group: techniques
// Parameters: none
// Example: xkg cypher runnable-methods

MATCH (p:Paper)-[:PROPOSES]->(top:Technique)-[:HAS_COMPONENT*0..20]->(t:Technique)
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
WITH p.title AS paper, top.name AS technique, top.id AS technique_id, count(t) AS techniques,
  sum(CASE WHEN c.level IN ['executed', 'tested', 'faithful'] THEN 1 ELSE 0 END) AS running,
  sum(CASE WHEN c.level IN ['tested', 'faithful'] THEN 1 ELSE 0 END) AS tested
WHERE running = techniques
RETURN technique, technique_id, paper, techniques, tested
ORDER BY techniques DESC, technique_id
