import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

/** Says that the server was updated since the page was loaded. It is looked at whenever a lost connection is back. */
export function Updated(): ReactNode {
  const isOld = useQuery({ queryKey: ["outdated"], queryFn: isOutdated, initialData: false, staleTime: Infinity }).data;
  return (
    isOld && (
      <p className="notice row" role="status">
        Muster was updated while this page was open.
        <button
          onClick={() => {
            location.reload();
          }}
        >
          Load it again
        </button>
      </p>
    )
  );
}

/** Whether the server has other scripts than those that run here. Their names say what is in them. */
async function isOutdated(): Promise<boolean> {
  const own = document.querySelector("script[src]")?.getAttribute("src");
  const answer = await fetch("/", { cache: "no-cache" });
  return typeof own === "string" && answer.ok && !(await answer.text()).includes(own);
}
