// Bookkeeping beside the graph: the look-up of names, and what Neo4j's own indexes search. The two search indexes
// themselves depend on the embedding model and are made when they are asked for (index.vectors: neo4j).

CREATE INDEX xkg_name_key IF NOT EXISTS FOR (n:Name) ON (n.key);
CREATE INDEX xkg_name_paper IF NOT EXISTS FOR (n:Name) ON (n.paper);
CREATE CONSTRAINT xkg_search_entry IF NOT EXISTS FOR (e:SearchEntry) REQUIRE e.id IS UNIQUE;
CREATE INDEX xkg_search_entry_paper IF NOT EXISTS FOR (e:SearchEntry) ON (e.paper);
CREATE INDEX xkg_search_entry_drawn IF NOT EXISTS FOR (e:SearchEntry) ON (e.drawn);
