import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Problem } from "./api/client";
import { router } from "./app/routes";
import { startTheme } from "./app/theme";
import "./styles/main.css";

const TRIES = 2;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      // What the server refused stays refused; what did not arrive may arrive the next time.
      retry: (failures, error) => !(error instanceof Problem && error.status < 500) && failures < TRIES,
    },
  },
});

startTheme();

const place = document.getElementById("app");
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
