// Papers whose build is incomplete, with one row per reason.
//
// Group: papers
// Parameters: none
// Example: xkg cypher partial-papers

MATCH (p:Paper) WHERE p.state = 'partial'
UNWIND CASE WHEN size(p.incomplete) = 0 THEN ['no reason is stored'] ELSE p.incomplete END AS reason
RETURN p.id AS paper_id, p.title AS paper, reason
ORDER BY paper_id, reason
