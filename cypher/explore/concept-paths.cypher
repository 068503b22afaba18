// Paths between two papers through a third paper that shares a concept with both. For concepts that the two papers
// share directly, see `shared-concepts`.
//
// Group: concepts
// Parameters:
//   paper: paper -- id of the paper where a path starts
//   other: paper -- id of the paper where it ends
//   limit: integer = 50 -- maximum number of rows
// Example: xkg cypher concept-paths --param paper=arxiv:1608.04471 --param other=arxiv:2101.00001

MATCH (a:Paper {id: $paper})-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)-[:SAME_CONCEPT]-(first:Technique)
WITH t, first, split(first.id, '#')[0] AS over_id
WHERE over_id <> $other
MATCH (b:Paper {id: $other})-[:PROPOSES|HAS_COMPONENT*1..20]->(u:Technique)-[:SAME_CONCEPT]-(second:Technique)
WITH t, first, over_id, u, second, split(second.id, '#')[0] AS second_paper
WHERE second_paper = over_id
MATCH (over:Paper {id: over_id})
RETURN t.name AS technique, over.title AS over_paper, first.name AS shared_with_paper,
  second.name AS shared_with_other, u.name AS other_technique, t.id AS technique_id, first.id AS first_id,
  second.id AS second_id, u.id AS other_id
ORDER BY technique_id, first_id, second_id, other_id
LIMIT $limit
