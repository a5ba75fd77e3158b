import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";

import { connect } from "./connection";
import { openWithoutInlineStyles } from "./styles";

/** A terminal, and the line to the worker. */
export default function Screen({ job, isInteractive }: { job: string; isInteractive: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const [ending, setEnding] = useState("");
  useEffect(() => {
    const box = place.current;
    if (box === null) {
      return;
    }
    const terminal = new Terminal({ fontSize: 13, fontFamily: mono(), cursorBlink: true, theme: colours() });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    const removeStyles = openWithoutInlineStyles(() => {
      terminal.open(box);
    });
    fit.fit();
    const line = connect(job, isInteractive, {
      onOpen: () => {
        line.resize(terminal.rows, terminal.cols);
        terminal.focus();
        // What is out of sight is not drawn, and what stands above may have grown meanwhile.
        box.scrollIntoView({ block: "nearest" });
      },
      onBytes: (bytes) => {
        terminal.write(bytes);
      },
      onEnd: setEnding,
    });
    terminal.onData(line.type);
    terminal.onResize(({ rows, cols }) => {
      line.resize(rows, cols);
    });
    const resized = new ResizeObserver(() => {
      fit.fit();
    });
    resized.observe(box);
    return () => {
      resized.disconnect();
      line.close();
      terminal.dispose();
      removeStyles();
    };
  }, [job, isInteractive]);
  return (
    <>
      <p className="tone-warn small" role="status">
        {ending}
      </p>
      <div className="terminal-box" ref={place} data-testid="terminal" />
    </>
  );
}

function mono(): string {
  return getComputedStyle(document.documentElement).getPropertyValue("--mono");
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const [background, foreground, cursor] = ["--ground", "--ink", "--accent"].map((name) =>
    style.getPropertyValue(name).trim(),
  );
  return { background, foreground, cursor, selectionBackground: style.getPropertyValue("--edge").trim() };
}
