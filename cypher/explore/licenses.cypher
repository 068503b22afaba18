// Licenses of the repositories, with the papers and code from these repositories. Unknown licenses come last.
//
// Group: repositories
// Parameters: none
// Example: xkg cypher licenses

MATCH (r:Repository)
OPTIONAL MATCH (r)<-[:HAS_REPOSITORY]-(p:Paper)
OPTIONAL MATCH (r)-[:DEFINES]->(s:Symbol)<-[:DERIVED_FROM]-(c:Code)
RETURN r.license AS license, count(DISTINCT r.id) AS repositories, count(DISTINCT p.id) AS papers,
  count(DISTINCT c.id) AS code_nodes
ORDER BY license
