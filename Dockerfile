# Any Node with npm 10 builds; the one that runs comes with the packages.
FROM node:22-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY packages/server/package.json packages/server/
COPY packages/client/package.json packages/client/
COPY packages/web/package.json packages/web/
# A library that Node needs, and that this image may lack.
RUN apt-get update && apt-get install -y --no-install-recommends libatomic1 && npm ci
COPY . .
RUN node_modules/.bin/node --no-warnings scripts/build-image.ts /image

# Only the server, Node and the libraries that they need: no shell, and nothing to update.
FROM scratch
COPY --from=build /image/root /
COPY --from=build --chown=10001:10001 /image/data /data
# A volume for BACKUP_DIR gets the owner of this empty folder.
COPY --from=build --chown=10001:10001 /image/data /backups
# Less memory for what lives long, at no measurable cost: see docs/operations.md, Limits.
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
ENV HOST=0.0.0.0 PORT=4180 DATA_DIR=/data PATH=/app/node_modules/.bin:/usr/bin
WORKDIR /app
USER tablinum
VOLUME /data
EXPOSE 4180
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=4", "node_modules/@tablinum/server/bin/tablinum.js", "start"]
