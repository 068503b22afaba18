// Papers that a paper cites (direction `cites`) and papers that cite it (direction `cited by`). Works that have not
// been built have the state `cited`.
//
// Group: citations
// Parameters:
//   paper: paper -- id of the paper, such as arxiv:1608.04471
// Example: xkg cypher citations --param paper=arxiv:1608.04471

MATCH (p:Paper|CitedWork {id: $paper})-[:CITES]-(other:Paper|CitedWork)
WITH DISTINCT p, other
RETURN other.id AS paper_id, other.title AS paper, other.year AS year, coalesce(other.state, 'cited') AS state,
  CASE WHEN NOT EXISTS {MATCH (p)-[:CITES]->(other)} THEN 'cited by'
    WHEN EXISTS {MATCH (other)-[:CITES]->(p)} THEN 'both' ELSE 'cites' END AS direction
ORDER BY direction, paper_id
