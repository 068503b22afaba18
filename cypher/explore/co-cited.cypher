// Papers that are often cited together with a paper (co-citation), ranked by how many papers in the graph cite both
// papers.
//
// Group: citations
// Parameters:
//   paper: paper -- id of the paper, such as arxiv:1608.04471
//   limit: integer = 20 -- maximum number of rows
// Example: xkg cypher co-cited --param paper=arxiv:1608.04471

MATCH (p:Paper|CitedWork {id: $paper})<-[:CITES]-(citing:Paper)-[:CITES]->(other:Paper|CitedWork)
WHERE other.id <> $paper
RETURN other.id AS paper_id, other.title AS paper, coalesce(other.state, 'cited') AS state,
  count(DISTINCT citing.id) AS cited_together
ORDER BY cited_together DESC, paper_id
LIMIT $limit
