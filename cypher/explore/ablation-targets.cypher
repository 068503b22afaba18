// The places in the repository that implement a paper's techniques, best place first. An ablation edits these lines.
// Check doubtful places before you rely on them: there is little evidence for them.
//
// Group: repositories
// Parameters:
//   paper: paper -- id of the paper, such as arxiv:1608.04471
//   places: integer = 3 -- maximum number of places per technique
// Example: xkg cypher ablation-targets --param paper=arxiv:1608.04471

MATCH (p:Paper {id: $paper})-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)-[at:LOCATED_AT]->(s:Symbol)<-[:DEFINES]-(r:Repository)
WHERE at.rank <= $places
RETURN t.name AS technique, t.id AS technique_id, at.rank AS rank, round(at.score, 3) AS score,
  coalesce(at.doubtful, false) AS doubtful, at.focus AS focus, s.path AS path, s.start_line AS start_line,
  s.end_line AS end_line, s.qualified_name AS symbol, CASE WHEN coalesce(r.url, '') = '' THEN r.id ELSE r.url END AS repository,
  r.`commit` AS `commit`
ORDER BY technique_id, rank, path, start_line, symbol
