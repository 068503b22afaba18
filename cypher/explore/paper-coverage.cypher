// Progress of each paper: how many techniques it has, how many of these are located in a repository, how many have
// code, and how much of the code runs, is tested, or is faithful.
//
// Group: papers
// Parameters: none
// Example: xkg cypher paper-coverage

MATCH (p:Paper)
OPTIONAL MATCH (p)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
RETURN p.id AS paper_id, p.title AS paper, p.state AS state, count(t) AS techniques,
  sum(CASE WHEN t.grounding = 'located' THEN 1 ELSE 0 END) AS located,
  count(c) AS coded,
  sum(CASE WHEN c.level IN ['executed', 'tested', 'faithful'] THEN 1 ELSE 0 END) AS executed,
  sum(CASE WHEN c.level IN ['tested', 'faithful'] THEN 1 ELSE 0 END) AS tested,
  sum(CASE WHEN c.level = 'faithful' THEN 1 ELSE 0 END) AS faithful
ORDER BY paper_id
