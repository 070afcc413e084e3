/** Text that is not a valid value of its field. It is shown as it was typed; the form cannot be saved with it. */
export class InvalidInput {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
