// citation-paths for Neo4j: shortest paths, and lists as one text, are written differently there.

MATCH (a:Paper|CitedWork {id: $paper}), (b:Paper|CitedWork {id: $other}) WHERE a.id <> b.id
MATCH path = allShortestPaths((a)-[:CITES*1..6]-(b))
RETURN length(path) AS steps, reduce(text = a.id, node IN tail(nodes(path)) | text + ' -- ' + node.id) AS ids,
  reduce(text = a.title, node IN tail(nodes(path)) | text + ' -- ' + node.title) AS titles
ORDER BY steps, ids
LIMIT $limit
