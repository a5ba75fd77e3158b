import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

export function NotFound(): ReactNode {
  return (
    <main className="alone sheet">
      <h1>There is no such page</h1>
      <p>
        <Link to="/">Go to the overview</Link>
      </p>
    </main>
  );
}
