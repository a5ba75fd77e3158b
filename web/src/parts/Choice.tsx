type ChoiceOf<T extends string> = {
  label: string;
  value: T;
  options: readonly T[];
  shown?: (option: T) => string;
  onChoose: (option: T) => void;
};

/** One of a few. */
export function Choice<T extends string>({ label, value, options, shown, onChoose }: ChoiceOf<T>) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => {
        onChoose(event.target.value as T);
      }}
    >
      {options.map((each) => (
        <option key={each} value={each}>
          {shown ? shown(each) : each}
        </option>
      ))}
    </select>
  );
}
