/** The formats of a review, for the command line, which loads none of them. */
export const reportFormats = ["text", "json", "sarif", "github", "gitlab", "junit"] as const;
export type ReportFormat = (typeof reportFormats)[number];
