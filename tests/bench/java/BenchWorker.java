import io.camunda.zeebe.client.ZeebeClient;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.time.Duration;

/** The official client as a contender: BenchWorker ADDRESS polling|streaming; serves each type read from its input. */
public final class BenchWorker {
  private static final int JOBS_ACTIVE = 256;

  private BenchWorker() {}

  public static void main(String[] arguments) throws Exception {
    boolean streaming = arguments[1].equals("streaming");
    URI address = URI.create("http://" + arguments[0]);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    try (ZeebeClient client = ZeebeClient.newClientBuilder().grpcAddress(address).usePlaintext().build()) {
      for (String jobType = lines.readLine(); jobType != null; jobType = lines.readLine()) {
        serve(client, jobType, streaming);
        System.out.println("serving " + jobType);
      }
    }
  }

  /** The completion is sent without waiting for its answer: a join would hold the client's one thread. */
  private static void serve(ZeebeClient client, String jobType, boolean streaming) {
    client
        .newWorker()
        .jobType(jobType)
        .handler((jobs, job) -> jobs.newCompleteCommand(job).send())
        .name("bench")
        .maxJobsActive(JOBS_ACTIVE)
        .timeout(Duration.ofSeconds(60))
        .streamEnabled(streaming)
        .open();
  }
}
