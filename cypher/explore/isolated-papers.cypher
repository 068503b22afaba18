// Papers not linked to any other built paper by a citation (in either direction) or a shared concept. The column
// `works` is the number of works outside the graph that the paper cites.
//
// Group: citations
// Parameters: none
// Example: xkg cypher isolated-papers

MATCH (p:Paper) WHERE NOT EXISTS {MATCH (p)-[:CITES]-(q:Paper)}
OPTIONAL MATCH (p)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
OPTIONAL MATCH (t)-[s:SAME_CONCEPT]-(u:Technique)
WITH p, count(DISTINCT t.id) AS techniques, count(u) AS shared
WHERE shared = 0
RETURN p.id AS paper_id, p.title AS paper, techniques, COUNT {MATCH (p)-[:CITES]->(work:CitedWork)} AS works
ORDER BY paper_id
