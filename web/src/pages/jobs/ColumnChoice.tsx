import { COLUMNS } from "./columns";

/** Which columns are shown. */
export function ColumnChoice({ chosen, onChoose }: { chosen: readonly string[]; onChoose: (chosen: string[]) => void }) {
  return (
    <details
      className="menu"
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.currentTarget.open = false;
          event.currentTarget.querySelector("summary")?.focus();
        }
      }}
    >
      <summary>Columns</summary>
      <div className="sheet" role="group" aria-label="Columns">
        {COLUMNS.filter((column) => column.id !== "name").map(({ id, name }) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              onChange={() => {
                const next = new Set(chosen);
                if (!next.delete(id)) {
                  next.add(id);
                }
                onChoose(COLUMNS.map((each) => each.id).filter((each) => next.has(each)));
              }}
            />{" "}
            {name}
          </label>
        ))}
      </div>
    </details>
  );
}
