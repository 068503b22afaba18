// Measured importance of techniques: how the metric changes, relative to the baseline, when a technique is removed or
// changed. Largest changes first.
//
// Group: techniques
// Parameters:
//   paper: string = "" -- id of a paper, such as arxiv:1608.04471; empty: all papers
//   least: number = 0 -- only relative changes of at least this size, in either direction (0.05: five per cent)
// Example: xkg cypher measured-importance --param least=0.05

MATCH (t:Technique)-[:ABLATED_IN]->(a:Ablation)
WHERE ($paper = "" OR left(t.id, size($paper)) = $paper) AND abs(a.change) >= $least
RETURN t.name AS technique, round(a.change, 4) AS change, round(a.low, 4) AS low, round(a.high, 4) AS high,
  a.metric AS metric, a.direction AS direction, a.baseline AS baseline, a.value AS value, a.seeds AS seeds,
  a.kind AS kind, a.description AS description, a.`commit` AS `commit`, a.measured_at AS measured_at, t.id AS technique_id
ORDER BY abs(a.change) DESC, technique_id, description
