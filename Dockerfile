# Any Node with npm 10 installs; the one that runs comes with the packages.
FROM node:22-bookworm-slim AS install
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/server/package.json packages/server/
COPY packages/client/package.json packages/client/
COPY packages/web/package.json packages/web/
RUN npm ci --omit=dev

FROM install AS web
RUN npm ci
COPY packages packages
RUN npm run build:web

FROM debian:bookworm-slim
WORKDIR /app
RUN useradd --system --uid 10001 --home-dir /app tablinum && mkdir /data && chown tablinum /data
COPY --from=install /app/node_modules node_modules
COPY package.json ./
COPY packages packages
COPY --from=web /app/packages/web/dist packages/web/dist
# Less memory for what lives long, at no measurable cost: see docs/operations.md, Limits.
ENV MALLOC_ARENA_MAX=2
ENV HOST=0.0.0.0 PORT=4180 DATA_DIR=/data PATH=/app/node_modules/.bin:$PATH
USER tablinum
VOLUME /data
EXPOSE 4180
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=4", "packages/server/bin/tablinum.js", "start"]
