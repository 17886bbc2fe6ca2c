import { Button, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { basePath } from "../api/client";
import { signIn } from "../api/session";
import { CodeBlock } from "../parts/CodeBlock";
import { Problem } from "../parts/Problem";
import { safeDestination } from "../shell/safeDestination";
import mark from "../shell/mark.svg";
import classes from "./SignInPage.module.css";

const route = getRouteApi("/sign-in");

/** Signs in by the one-time token in the fragment of the address, or by an API key. */
export default function SignInPage() {
  const { next } = route.useSearch();
  const router = useRouter();
  const [key, setKey] = useState("");
  const session = useMutation({
    mutationFn: signIn,
    onSuccess: () => router.history.replace(basePath + safeDestination(next)),
  });
  const { mutate } = session;
  useEffect(() => {
    document.title = "Sign in · Tickwork";
    const token = takeToken();
    if (token) mutate({ link: token });
  }, [mutate]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    mutate({ key: key.trim() });
  };
  return (
    <main className={classes.page}>
      <Paper className={classes.card}>
        <form onSubmit={submit}>
          <Stack gap={16}>
            <div className={classes.head}>
              <img src={mark} alt="" width={28} height={28} />
              <Title order={1}>Sign in to Tickwork</Title>
            </div>
            {session.error && <Problem error={session.error} />}
            <PasswordInput
              label="API key"
              value={key}
              onChange={(event) => setKey(event.currentTarget.value)}
              autoComplete="current-password"
              data-autofocus
              required
              maxLength={256}
            />
            <Button type="submit" size="sm" loading={session.isPending} disabled={key.trim() === ""}>
              Sign in
            </Button>
            <Text c="dimmed" size="xs">
              On the machine of <code>tickwork up</code>, the admin key is in its data folder:
            </Text>
            <CodeBlock code="cat .tickwork/admin.key" what="the command" />
          </Stack>
        </form>
      </Paper>
    </main>
  );
}

/** The token must not stay in the address, where others could see it. */
function takeToken(): string {
  const token = location.hash.slice(1);
  if (token) history.replaceState(history.state, "", location.pathname + location.search);
  return token;
}
