/** What cannot even be sent: with the path of the field, as the API's own errors have. */
export class DraftError extends Error {
  constructor(
    readonly path: string,
    message: string,
  ) {
    super(message);
    this.name = "DraftError";
  }
}
