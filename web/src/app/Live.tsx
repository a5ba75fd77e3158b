import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";

import { type Connection, watchEvents } from "../api/live";
import { refresh } from "../api/refresh";

const SAID: Record<Connection, [tone: string, words: string, more: string]> = {
  connecting: ["wait", "connecting", "Waiting for the server."],
  live: ["good", "live", "What you see changes by itself."],
  lost: ["bad", "connection lost", "What you see may be old. The server is asked again and again."],
};

/** Whether what one sees is live. Events make pages ask again for what has changed. */
export function Live(): ReactNode {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");
  useEffect(() => {
    let wasAway = false;
    return watchEvents({
      onEvents: (events) => {
        refresh(client, events);
      },
      onConnection: (state) => {
        setConnection(state);
        if (state === "live" && wasAway) {
          // Whatever happened in between was not heard.
          void client.invalidateQueries();
        }
        wasAway = state !== "live";
      },
    });
  }, [client]);
  const [tone, words, more] = SAID[connection];
  return (
    <span className={`badge live tone-${tone}`} data-testid="connection" role="status" title={more}>
      {words}
    </span>
  );
}
