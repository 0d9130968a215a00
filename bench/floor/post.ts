/** The least that a program does for a first request over TLS: POST to the address given, and wait for the reply. */
void fetch(process.argv[2] ?? "", { method: "POST", body: "{}" }).then((response) => response.text());
