import type { Schema } from "../api/client";

type EffectsOf = {
  of: readonly Schema["Effect"][];
  /** They are those of a job that is not submitted yet. */
  would?: boolean;
};

/** What admission rules did to a job, or would do to it: warnings before keys that they set. */
export function Effects({ of, would = false }: EffectsOf) {
  if (of.length === 0) {
    return null;
  }
  const warnings = of.filter((each) => each.message !== null);
  const changes = of.filter((each) => each.message === null);
  return (
    <div data-testid="admission">
      {warnings.map((each, place) => (
        <p key={place} className="notice">
          The admission rule <b>{each.rule}</b> warns: {each.message}
        </p>
      ))}
      {changes.map((each, place) => (
        <p key={place} className="notice calm">
          The admission rule <b>{each.rule}</b> {would ? "would set" : "set"} <Keys names={each.keys} />.
        </p>
      ))}
    </div>
  );
}

function Keys({ names }: { names: readonly string[] }) {
  return (
    <>
      {names.map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <code>{name}</code>
        </span>
      ))}
    </>
  );
}
