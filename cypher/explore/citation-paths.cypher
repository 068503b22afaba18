// The shortest citation paths between two papers, in either direction and with at most six steps, as ids and titles.
//
// Group: citations
// Parameters:
//   paper: paper -- id of the paper where a path starts
//   other: paper -- id of the paper where it ends
//   limit: integer = 20 -- maximum number of rows
// Example: xkg cypher citation-paths --param paper=arxiv:1608.04471 --param other=arxiv:1312.6114

MATCH path = (a:Paper|CitedWork {id: $paper})-[:CITES* ALL SHORTEST 1..6]-(b:Paper|CitedWork {id: $other})
RETURN length(path) AS steps, list_to_string(' -- ', properties(nodes(path), 'id')) AS ids,
  list_to_string(' -- ', properties(nodes(path), 'title')) AS titles
ORDER BY steps, ids
LIMIT $limit
