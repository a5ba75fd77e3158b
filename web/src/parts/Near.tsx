import { type ReactNode, useEffect, useRef, useState } from "react";

/**
 * What is far down a page comes when it comes into sight, and asks for what it shows only then. Until then it has a
 * height, so that nothing below it moves much.
 */
export function Near({ heightPx, children }: { heightPx: number; children: ReactNode }): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const [wasSeen, setSeen] = useState(false);
  useEffect(() => {
    if (place.current === null) {
      return;
    }
    const watching = new IntersectionObserver((entries) => {
      setSeen((before) => before || entries.some((each) => each.isIntersecting));
    });
    watching.observe(place.current);
    return () => {
      watching.disconnect();
    };
  }, []);
  return wasSeen ? children : <div ref={place} style={{ height: heightPx }} />;
}
