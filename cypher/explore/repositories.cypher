// Repositories with their commit, license, paper and data from GitHub. Also shows the number of symbols, of symbols
// that implement a technique, and of symbols that code was generated from. Official repositories come first.
//
// Group: repositories
// Parameters: none
// Example: xkg cypher repositories

MATCH (p:Paper)-[:HAS_REPOSITORY]->(r:Repository)
OPTIONAL MATCH (r)-[:DEFINES]->(s:Symbol)
RETURN r.id AS repository_id, r.url AS url, r.`commit` AS `commit`, r.license AS license, r.is_official AS official,
  r.stars AS stars, r.archived AS archived, r.default_branch AS default_branch, p.title AS paper, count(s) AS symbols,
  sum(CASE WHEN EXISTS {MATCH (s)<-[:LOCATED_AT]-(t:Technique)} THEN 1 ELSE 0 END) AS located,
  sum(CASE WHEN EXISTS {MATCH (s)<-[:DERIVED_FROM]-(c:Code)} THEN 1 ELSE 0 END) AS derived
ORDER BY official DESC, repository_id, paper
