/**
 * The terminal writes its colours and sizes into `style` elements, which the policy of our pages forbids, as it forbids
 * everything inline. What it writes goes into sheets that a script constructs instead, which the policy allows.
 */
export function openWithoutInlineStyles(open: () => void): () => void {
  const sheets: CSSStyleSheet[] = [];
  const make: Make = Reflect.get<Document, "createElement">(document, "createElement");
  const replaced = (name: string, options?: ElementCreationOptions) => {
    // Even an empty `style` in the document is a violation.
    const element = make.call(document, name === "style" ? "template" : name, options);
    if (name === "style") {
      const sheet = new CSSStyleSheet();
      sheets.push(sheet);
      document.adoptedStyleSheets.push(sheet);
      Object.defineProperty(element, "textContent", {
        get: () => "",
        set: (text: string) => {
          sheet.replaceSync(text);
        },
      });
    }
    return element;
  };
  Reflect.set(document, "createElement", replaced);
  try {
    open();
  } finally {
    // What was set on the document itself covered what all documents have.
    Reflect.deleteProperty(document, "createElement");
  }
  return () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
}

type Make = (this: Document, name: string, options?: ElementCreationOptions) => HTMLElement;
