/** What the server warned of. */
export function WarningNotes({ warnings }: { warnings: readonly string[] }) {
  return warnings.map((warning) => (
    <p key={warning} role="alert" className="note warning">
      {warning}
    </p>
  ));
}
