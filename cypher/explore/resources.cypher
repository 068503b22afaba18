// Datasets, weights and other resources, with the paper that released them.
//
// Group: findings
// Parameters:
//   text: string = "" -- only resources whose name or description contains this (case-insensitive); empty: all
// Example: xkg cypher resources --param text=dataset

MATCH (p:Paper)-[:RELEASES]->(r:Resource)
WHERE $text = '' OR toLower(r.name) CONTAINS toLower($text)
  OR toLower(coalesce(r.description, '')) CONTAINS toLower($text)
RETURN r.name AS resource, r.description AS description, r.id AS resource_id, p.title AS paper
ORDER BY resource_id
