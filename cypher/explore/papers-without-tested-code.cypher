// Papers without any tested code. To reproduce these papers, test their code first. The column `executed` is the number
// of code nodes that at least run.
//
// Group: papers
// Parameters: none
// Example: xkg cypher papers-without-tested-code

MATCH (p:Paper)
OPTIONAL MATCH (p)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
WITH p.id AS paper_id, p.title AS paper, count(t) AS techniques, count(c) AS coded,
  sum(CASE WHEN c.level = 'executed' THEN 1 ELSE 0 END) AS executed,
  sum(CASE WHEN c.level IN ['tested', 'faithful'] THEN 1 ELSE 0 END) AS tested
WHERE tested = 0
RETURN paper_id, paper, techniques, coded, executed
ORDER BY executed DESC, coded DESC, paper_id
