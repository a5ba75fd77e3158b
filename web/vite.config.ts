import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env["MUSTER_URL"] ?? "http://127.0.0.1:8470";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/muster/api/dashboard/built",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    sourcemap: false,
    // The editor needs no parser of a language. What it imports of one does nothing by being loaded, so it is left out.
    rolldownOptions: { treeshake: { moduleSideEffects: [{ test: /node_modules\/@lezer\//, sideEffects: false }] } },
  },
  // While one works on the pages, a server of one's own answers.
  server: { proxy: { "/v1": server, "/session": server, "/healthz": server } },
});
