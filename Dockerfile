# listctl for jobs in containers: what the lock file says, no npm cache, nobody's root.
FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
# The bundle holds what it needs; the store of the embedded service alone is left to install.
RUN npm run build && npm ci --omit=dev

FROM node:24-slim
COPY --from=build /build/package.json /build/LICENSE /opt/listctl/
COPY --from=build /build/bin /opt/listctl/bin
COPY --from=build /build/dist /opt/listctl/dist
COPY --from=build /build/node_modules /opt/listctl/node_modules
RUN ln -s /opt/listctl/bin/listctl.js /usr/local/bin/listctl
USER node
WORKDIR /home/node
# No entry point: CI systems start a shell in the image.
CMD ["listctl", "--help"]
