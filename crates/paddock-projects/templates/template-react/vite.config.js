import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  // Relative addresses, so that what is built works under any path.
  base: "./",
  plugins: [react()],
});
