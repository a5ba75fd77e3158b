import { useEffect, useState } from "react";

/** Between two letters of somebody who types. */
const PAUSE_MS = 350;

/** The text once it has not changed for a while: what is asked of it is asked once, and not for each letter. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(text);
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [text]);
  return settled;
}
